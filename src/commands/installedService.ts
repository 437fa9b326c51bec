import { existsSync, readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { isExecutable } from '../assets.ts'
import { UsageError } from './cli.ts'
import { parseEnvironmentFile } from './environmentFile.ts'

/** The service that a package has installed on this machine. tools/buildDeb.ts writes it to `service.json`. */
export type InstalledService = {
  /** An environment file of systemd. */
  readonly settingsFile: string
  /** The data folder, unless the settings name another one. */
  readonly dataDir: string
  readonly user: string
}

let ownService: InstalledService | undefined

/** The service whose settings and user this process has taken. */
export const serviceOfThisProcess = (): InstalledService | undefined => ownService

/** Only the executable belongs to a package: a Node in the same folder does not. */
function findInstalledService(): InstalledService | undefined {
  const file = join(dirname(process.execPath), '../lib/petstore/service.json')
  return isExecutable && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}

/**
 * If a package has installed the service, a command uses its settings, and root becomes its user: otherwise the database
 * would get files that the service cannot write. Variables of the caller take precedence, and a caller who names another
 * data folder uses another database than the service.
 */
export function useInstalledService(env: NodeJS.ProcessEnv): void {
  const service = findInstalledService()
  if (service === undefined) return
  const settings = readSettings(service, env)
  if (settings === undefined) return
  const dataDir = settings.get('PETSTORE_DATA_DIR') ?? service.dataDir
  if (env.PETSTORE_DATA_DIR !== undefined) {
    if (resolve(env.PETSTORE_DATA_DIR) !== resolve(dataDir)) return
    // The caller means the SQLite database.
    settings.delete('DATABASE_URL')
  }
  // The replica of another database.
  if (env.DATABASE_URL !== undefined || !settings.has('DATABASE_URL')) settings.delete('DATABASE_READ_URL')
  for (const [name, value] of [...settings, ['PETSTORE_DATA_DIR', dataDir] as const]) env[name] ??= value
  if (process.geteuid?.() === 0) becomeUser(service.user, env)
  ownService = service
}

/** Undefined if the settings are not readable, but the caller has named a database. */
function readSettings({ settingsFile }: InstalledService, env: NodeJS.ProcessEnv) {
  try {
    return parseEnvironmentFile(readFileSync(settingsFile, 'utf8'))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const isNamed = env.PETSTORE_DATA_DIR !== undefined || env.DATABASE_URL !== undefined
    if (code === 'ENOENT') {
      if (isNamed) return new Map<string, string>()
      // They may have named a PostgreSQL database: the defaults would be another database.
      throw new UsageError(
        `The settings of the service are missing: there is no ${settingsFile}. Create the file, even if it is empty. To use another database, set PETSTORE_DATA_DIR or DATABASE_URL.`,
      )
    }
    if (code !== 'EACCES') throw new Error(`The settings of the service cannot be read (${message}).`)
    // ./data/petstore.db is the default database of a service that this user runs in this folder.
    if (isNamed || existsSync('data/petstore.db')) return undefined
    throw new UsageError(
      `The settings of the service are in ${settingsFile}, which this user cannot read. Run the command as root: "sudo petstore ...". To use another database, set PETSTORE_DATA_DIR or DATABASE_URL.`,
    )
  }
}

function becomeUser(user: string, env: NodeJS.ProcessEnv): void {
  // The types of Node do not have this function.
  const { initgroups } = process as { initgroups?(user: string, extraGroup: string): void }
  initgroups?.(user, user)
  process.setgid?.(user)
  process.setuid?.(user)
  Object.assign(env, { USER: user, LOGNAME: user, HOME: userInfo().homedir })
}
