import * as z from 'zod'
import { parseActor } from '../actor.ts'
import { parseJson } from '../api/json.ts'
import { pageSchema } from '../api/pagination.ts'
import { int64, optionalText, timestampSchema } from '../api/validation.ts'
import { timestamp } from '../clock.ts'
import { eventTypeSchema } from '../events/schemas.ts'
import type { HistoryRow } from './queries.ts'

const actorSchema = z
  .object({
    keyId: int64().optional().meta({ description: 'The API key that made the change.' }),
    name: optionalText('The name of the API key.'),
    command: optionalText('The command of the command line that made the change, in place of a key.'),
  })
  .meta({ id: 'Actor', description: 'Who made a change: an API key, or a command.' })

const entrySchema = z
  .object({
    id: int64().meta({ description: 'The id of the event.' }),
    type: eventTypeSchema,
    createdAt: timestampSchema('When the change was made.'),
    data: z.record(z.string(), z.unknown()).meta({ description: 'The `data` of the event.' }),
    actor: actorSchema.optional(),
  })
  .meta({
    id: 'HistoryEntry',
    description: 'A change of an animal. Without `actor`, the service made it, or it is not known.',
  })
export const historySchema = pageSchema(entrySchema, 'History', 'changes of an animal, newest first')

export function serializeEntry({ id, type, created_at, data, actor: text, name }: HistoryRow) {
  const actor = parseActor(text)
  return {
    id,
    type,
    createdAt: timestamp(created_at),
    data: parseJson(data),
    actor: actor && 'keyId' in actor ? { ...actor, name: name ?? undefined } : actor,
  }
}
