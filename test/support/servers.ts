import { existsSync, rmSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { startServer, temporaryFolder } from './process.ts'

export type Server = Awaited<ReturnType<typeof startServer>>

/** A folder that is gone after the test. */
export function folderFor(t: Pick<TestContext, 'after'>): string {
  const folder = temporaryFolder()
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

/** A server in a process of its own that does not outlive the test, whatever becomes of it. */
export async function serverFor(
  t: Pick<TestContext, 'after'>,
  env: Record<string, string> = {},
): Promise<Server> {
  const server = await startServer(env)
  t.after(async () => {
    server.closeConnections()
    server.child.kill('SIGKILL')
    await server.ended
    if (env.PETSTORE_DATA_DIR === undefined && existsSync(server.dataDir))
      rmSync(server.dataDir, { recursive: true, force: true, maxRetries: 5 })
  })
  return server
}

/** Stops a server as an operator does, and answers how it ended. */
export function stopped(server: Server) {
  server.closeConnections()
  server.child.kill('SIGTERM')
  return server.ended
}
