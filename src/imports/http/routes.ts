import { actorText } from '../../actor.ts'
import { ApiError, apiErrors, orNotFound } from '../../api/errors.ts'
import {
  type Context,
  defineOperation,
  type Operation,
  type OperationResult,
  respond,
} from '../../api/operation.ts'
import { recordAudit } from '../../audit/queries.ts'
import type { Database } from '../../database/database.ts'
import type { Db } from '../../database/db.ts'
import { FileError } from '../csv/problem.ts'
import { startImport } from './apply.ts'
import { type CheckOptions, checkUpload } from './check.ts'
import { importRetentionMs } from './job.ts'
import {
  beginImport,
  eraseImport,
  findImport,
  findImportForUpdate,
  findUnfinished,
  listImports,
  type StoredImport,
  saveImport,
  subjectOf,
} from './queries.ts'
import {
  importErrors,
  importFileBytesMax,
  importListSchema,
  importParams,
  importQuerySchema,
  importSchema,
  serializeImport,
} from './schemas.ts'

type ImportRoutesOptions = {
  readonly database: Database
  /** Called when there is an import to apply or to erase. */
  wake(): void
}

const importOperation = { tag: 'Imports', stability: 'beta', scope: 'keys:manage' } as const
const importByIdOperation = {
  ...importOperation,
  params: importParams,
  notFound: importErrors.import_not_found,
  errors: [importErrors.import_not_found],
}

/** Its response is erased with the import, also where it is kept for retries. */
const respondWithImport = (status: number, stored: StoredImport): OperationResult => ({
  ...respond(status, serializeImport(stored)),
  subjectRef: subjectOf(stored.id),
})

async function requireNoOther(db: Db, now: number): Promise<void> {
  if (await findUnfinished(db, now)) throw new ApiError(importErrors.import_in_progress)
}

/** A caller that has disconnected does not know the id of its import, which would keep others waiting. */
function requireConnected({ isDisconnected }: Context): void {
  if (isDisconnected()) throw new ApiError(apiErrors.unavailable, 'The caller has closed the connection.')
}

/** Checks one file at a time. */
function createChecker({ database }: ImportRoutesOptions) {
  let isChecking = false
  const check = async (bytes: Uint8Array, options: CheckOptions, context: Context) => {
    const { now } = context
    const id = await database.writeUnlogged((trx) => beginImport(trx, now))
    const assertWanted = () => requireConnected(context)
    try {
      return { id, job: await checkUpload({ database, id, now, assertWanted }, bytes, options) }
    } catch (error) {
      // Before it is erased: who sees that it is gone can send the next one.
      isChecking = false
      await database.writeUnlogged((trx) => eraseImport(trx, id))
      if (!(error instanceof FileError)) throw error
      const details = [{ path: '', message: error.message }]
      throw new ApiError(apiErrors.validation_failed, error.message, { details })
    }
  }
  return async (...upload: Parameters<typeof check>) => {
    if (isChecking)
      throw new ApiError(
        importErrors.import_in_progress,
        'Another file is being checked. Try again in a moment.',
      )
    isChecking = true
    try {
      return await check(...upload)
    } finally {
      isChecking = false
    }
  }
}

const createImportOperation = (check: ReturnType<typeof createChecker>) =>
  defineOperation('createImport', 'POST /imports', {
    ...importOperation,
    summary: 'Check a file of animals',
    description:
      'The body is CSV in UTF-8 with a header, up to 20 MiB and 100,000 lines. Columns and values are recognized as by the command `petstore import`. Returns what applying it would do, and changes no animal. What is recognized is stored, not the file, and is erased when it is applied, or after an hour. Photos are not imported.',
    query: importQuerySchema,
    rawBody: {
      types: ['text/csv'],
      bytesMax: importFileBytesMax,
      time: { startMs: 10_000, bytesPerSecondMin: 64 * 1024, totalMs: 360_000 },
      advice: 'Save a spreadsheet as CSV in UTF-8.',
    },
    responses: { 201: { description: 'The file was checked.', schema: importSchema } },
    location: ({ id }) => `/imports/${id}`,
    errors: [importErrors.import_in_progress],
    subject: () => 'imports',
    async prepare({ query, bytes }, context) {
      // Before the slow work. The transaction checks it again.
      await requireNoOther(context.db, context.now)
      const { map = [], createCategories, force, ...others } = query
      const flags = { createCategories: createCategories === 'true', force: force === 'true' }
      return check(bytes, { ...others, ...flags, map: new Map(map) }, context)
    },
    async write(_, context, { id, job }) {
      const { trx, now } = context
      await trx.lockName('imports')
      requireConnected(context)
      await requireNoOther(trx, now)
      await saveImport(trx, id, 'ready', job, now)
      const times = { createdAt: now, updatedAt: now, expiresAt: now + importRetentionMs }
      return respondWithImport(201, { id, state: 'ready', ...times, job })
    },
  })

const listImportsOperation = defineOperation('listImports', 'GET /imports', {
  ...importOperation,
  summary: 'List imports',
  description:
    'Imports that are not applied yet, and those of the last hour. `animals` is empty. At most one is not applied.',
  responses: { 200: { description: 'The imports, newest first.', schema: importListSchema } },
  async read(_, { db, now }) {
    const imports = await listImports(db, now)
    return respond(
      200,
      imports.map((each) => ({ ...serializeImport(each), animals: [] })),
    )
  },
})

const getImportOperation = defineOperation('getImport', 'GET /imports/{importId}', {
  ...importByIdOperation,
  summary: 'Get an import',
  description: 'Its state, its progress and its result.',
  responses: { 200: { description: 'The import.', schema: importSchema } },
  async read({ params: { importId } }, { db, now }) {
    const stored = orNotFound(await findImport(db, importId, now), importErrors.import_not_found)
    return respond(200, serializeImport(stored))
  },
})

const applyImportOperation = ({ wake }: ImportRoutesOptions) =>
  defineOperation('applyImport', 'POST /imports/{importId}/apply', {
    ...importByIdOperation,
    summary: 'Apply an import',
    description:
      'Starts to add and change the animals of the file. Wrong lines are left out. The work goes on after the response, and after a restart of the service. `GET /imports/{importId}` shows its progress. Applying an import again changes nothing.',
    responses: { 202: { description: 'The import is being applied, or was before.', schema: importSchema } },
    subject: ({ params: { importId } }) => subjectOf(importId),
    async write({ params: { importId } }, context) {
      const { trx, now, principal, afterCommit } = context
      const find = () => findImportForUpdate(trx, importId, now)
      const stored = orNotFound(await find(), importErrors.import_not_found)
      if (stored.state !== 'ready') return respondWithImport(202, stored)
      await startImport(trx, stored, actorText(principal), now)
      await recordAudit(trx, context, 'database.imported', 'database')
      afterCommit(wake)
      return respondWithImport(202, orNotFound(await find(), importErrors.import_not_found))
    },
  })

const deleteImportOperation = ({ wake }: ImportRoutesOptions) =>
  defineOperation('deleteImport', 'DELETE /imports/{importId}', {
    ...importByIdOperation,
    summary: 'Delete an import',
    description: 'Erases the import. One that is being applied stops. What it has changed stays.',
    responses: { 204: { description: 'The import was erased.' } },
    subject: ({ params: { importId } }) => subjectOf(importId),
    async write({ params: { importId } }, { trx, now, afterCommit }) {
      const stored = await findImportForUpdate(trx, importId, now)
      await eraseImport(trx, orNotFound(stored, importErrors.import_not_found).id)
      afterCommit(wake)
      return respond(204)
    },
  })

export const importRoutes = (options: ImportRoutesOptions): Operation[] => [
  createImportOperation(createChecker(options)),
  listImportsOperation,
  getImportOperation,
  applyImportOperation(options),
  deleteImportOperation(options),
]
