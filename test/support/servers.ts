import { rmSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { databaseEnvIn, removeDatabase, temporaryFolder } from './engine.ts'
import { type SpawnOptions, startServer } from './process.ts'

/** Replaces the context of a test for something that all tests of a suite use. */
export class SuiteCleanup implements Pick<TestContext, 'after'> {
  readonly #ends: (() => unknown)[] = []

  after(end?: unknown): void {
    this.#ends.push(end as () => unknown)
  }

  /** Call this after the last test. Runs the last one first: a service stops before its database is removed. */
  async end(): Promise<void> {
    for (const end of this.#ends.toReversed()) await end()
  }
}

export type Server = Awaited<ReturnType<typeof startServer>>

/** A folder that is removed after the test. */
export function folderFor(t: Pick<TestContext, 'after'>): string {
  const folder = temporaryFolder()
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

/** A server in a separate process. It is killed after the test. */
export async function serverFor(
  t: Pick<TestContext, 'after'>,
  env: Record<string, string> = {},
  how: SpawnOptions = {},
): Promise<Server> {
  const server = await startServer(env, how)
  t.after(async () => {
    server.closeConnections()
    server.child.kill('SIGKILL')
    await server.ended
    if (databaseEnvIn(env) === undefined) await removeDatabase(server.databaseEnv)
  })
  return server
}

/** Stops a server with SIGTERM and returns how it ended. */
export function stopped(server: Server) {
  server.closeConnections()
  server.child.kill('SIGTERM')
  return server.ended
}
