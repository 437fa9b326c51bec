import * as z from 'zod'
import { defineErrors } from '../../api/errors.ts'
import { int64, parsedText, timestampSchema } from '../../api/validation.ts'
import { timestamp } from '../../clock.ts'
import { petStatuses } from '../../pets/pet.ts'
import { profileUpdateSchema } from '../../profiles/schemas.ts'
import { importFields, parseMapping } from '../fields.ts'
import { presetNames } from '../presetNames.ts'
import { dateOrders } from '../values/dates.ts'
import { parseCurrency } from '../values/fee.ts'
import { importIdPattern, importStates, previewedMax, wrongLinesMax } from './job.ts'
import type { StoredImport } from './queries.ts'

export const importErrors = defineErrors({
  import_not_found: [404, 'There is no import with this id, or it has expired. Upload the file again.'],
  import_in_progress: [
    409,
    'Another import is not finished. GET /imports lists it. Apply it, or delete it, before the next one.',
  ],
})

export const importFileBytesMax = 20 * 1024 * 1024
const mappingsMax = 200

const choice = (description: string) => z.enum(['true', 'false']).optional().meta({ description })

const mapping = parsedText<[string, string]>(
  { type: 'string', pattern: '^.+=[^=]*$', maxLength: 500 },
  (text) => parseMapping(text) ?? 'must be a column and a field, such as "Nickname=name"',
)

export const importQuerySchema = z.object({
  from: z.enum(presetNames).optional().meta({
    description: 'The system that the file was exported from. By default its columns decide.',
  }),
  map: z
    .array(mapping)
    .max(mappingsMax)
    .optional()
    .meta({
      description: `What a column is, such as \`Nickname=name\`. \`Nickname=\` ignores the column. Repeat it for other columns. The fields are ${importFields.join(', ')}.`,
    }),
  dateOrder: z.enum(dateOrders).optional().meta({
    description: 'The order of the numbers in dates such as 5/1/2026.',
  }),
  currency: z
    .string()
    .refine((text) => parseCurrency(text) !== undefined, 'must be a currency code of ISO 4217 such as EUR')
    .optional()
    .meta({ pattern: '^[A-Za-z]{3}$', description: 'The currency of fees that have none, by ISO 4217.' }),
  createCategories: choice('Adds the categories that the file names and that do not exist.'),
  missing: z.enum(['keep', 'unlist']).optional().meta({
    description: 'What is done with animals of the same source that are not in the file. By default `keep`.',
  }),
  force: choice('Accepts a file without animals, and one that unlists more than half of them.'),
})

export const importParams = z.object({
  importId: z.string().meta({ description: 'The id of the import.', pattern: importIdPattern }),
})

const count = (description: string) => z.int().meta({ format: 'int64', minimum: 0, description })

const countsSchema = z
  .object({
    added: count('New animals.'),
    changed: count('Animals that are changed.'),
    unchanged: count('Animals that stay as they are.'),
    unlisted: count('Animals that are no longer listed, because the file does not have them any more.'),
  })
  .meta({ id: 'ImportCounts', description: 'What an import does.' })

const columnSchema = z
  .object({
    heading: z.string().meta({ description: 'The heading of the column.' }),
    fields: z.array(z.string()).meta({ description: 'What the column is. Empty if it is ignored.' }),
    excluded: z.boolean().meta({ description: 'It can be about people, so it is never imported.' }),
  })
  .meta({ id: 'ImportColumn', description: 'A column of the file.' })

const lineSchema = z.int().meta({ format: 'int64', minimum: 1, description: 'The number of the line.' })

const wrongLineSchema = z
  .object({ line: lineSchema, reason: z.string().meta({ description: 'What is wrong with it.' }) })
  .meta({ id: 'ImportWrongLine', description: 'A line that is left out.' })

const animalSchema = z
  .object({
    line: lineSchema,
    change: z.enum(['added', 'changed', 'unchanged']).meta({ description: 'What the import does with it.' }),
    petId: int64().optional().meta({ description: 'The id of the animal. Absent if it is new.' }),
    name: z.string().meta({ description: 'The name.' }),
    category: z.string().meta({ description: 'The name or the id of the category, as in the file.' }),
    status: z.enum(petStatuses).meta({ description: 'The status.' }),
    profile: profileUpdateSchema,
  })
  .meta({ id: 'ImportedAnimal', description: 'An animal as the import would store it.' })

export const importSchema = z
  .object({
    id: z.string().meta({ description: 'The id of the import.', pattern: importIdPattern }),
    state: z.enum(importStates).meta({ description: '`ready` to be applied, `applying` or `applied`.' }),
    createdAt: timestampSchema('When the file was uploaded.'),
    expiresAt: timestampSchema('When the import is erased. Null while it is applied.').nullable(),
    from: z.enum(presetNames).nullable().meta({ description: 'The system that the file was exported from.' }),
    columns: z.array(columnSchema).meta({ description: 'The columns, in the order of the file.' }),
    newCategories: z.array(z.string()).meta({ description: 'The categories that the import adds.' }),
    total: count('Animals that are added, changed, unlisted or checked.'),
    done: count('How many of them are done.'),
    expected: countsSchema,
    result: countsSchema,
    wrong: count('Lines that are left out, because they are wrong.'),
    wrongLines: z.array(wrongLineSchema).meta({ description: `The first ${wrongLinesMax} of them.` }),
    animals: z.array(animalSchema).meta({
      description: `The first ${previewedMax} animals. Empty in lists, and once the import is applied.`,
    }),
  })
  .meta({
    id: 'Import',
    description: 'An import of animals. `expected` is what it would do, and `result` what it has done.',
  })

export const importListSchema = z
  .array(importSchema)
  .meta({ id: 'Imports', description: 'The imports that are not erased, newest first.' })

/** For responses. */
export function serializeImport({ id, state, createdAt, expiresAt, job }: StoredImport) {
  const { from, columns, newCategories, total, done, expected, result, wrong, wrongLines, animals } = job
  return {
    id,
    state,
    createdAt: timestamp(createdAt),
    expiresAt: state === 'applying' ? null : timestamp(expiresAt),
    ...{ from, columns, newCategories, total, done, expected, result, wrong, wrongLines, animals },
  }
}
