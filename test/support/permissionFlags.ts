import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const shipped = new URL('../../deploy/systemd/permission.conf', import.meta.url)

/** The command of the systemd unit with Node's permission model, split at spaces. */
export const permissionCommand = (): string[] =>
  (/^ExecStart=(node .*)$/m.exec(readFileSync(shipped, 'utf8'))?.[1] ?? '').split(' ')

/** The options of Node in it, with the folder of this program instead of /opt/petstore. */
export const permissionFlags = (): string[] =>
  permissionCommand()
    .filter((word) => word.startsWith('--'))
    .map((word) => word.replace('/opt/petstore/', root))
