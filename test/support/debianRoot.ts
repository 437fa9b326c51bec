import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const serviceUser = { name: 'petstore', id: 47_001 }
export const otherUser = { name: 'ada', id: 47_002 }

export type CommandResult = { code: number | null; stdout: string; stderr: string }

/** A folder that is the root of a machine with the Debian package, as its postinst leaves it. Only root can use it. */
export class DebianRoot {
  readonly folder: string

  constructor(folder: string, deb: string) {
    this.folder = folder
    execFileSync('dpkg-deb', ['-x', deb, folder])
    chmodSync(folder, 0o755)
    for (const library of librariesOf(join(folder, 'usr/bin/petstore'))) this.copy(library)
    const users = [{ name: 'root', id: 0 }, serviceUser, otherUser]
    this.write(
      '/etc/passwd',
      users.map(({ name, id }) => `${name}:x:${id}:${id}::/var/lib/${name}:/bin/sh\n`),
    )
    this.write(
      '/etc/group',
      users.map(({ name, id }) => `${name}:x:${id}:\n`),
    )
    this.makeFolder('/var/lib/petstore', serviceUser.id, 0o700)
    this.makeFolder('/home/ada', otherUser.id, 0o755)
    this.makeFolder('/root', 0, 0o700)
    this.makeFolder('/tmp', 0, 0o1777)
    // A file instead of the device: the standard error of the process that decodes photos.
    this.write('/dev/null', [])
    chmodSync(this.path('/dev/null'), 0o666)
  }

  /** The path outside of the root. */
  path(inside: string): string {
    return join(this.folder, inside)
  }

  copy(file: string): void {
    mkdirSync(dirname(this.path(file)), { recursive: true })
    copyFileSync(file, this.path(file))
  }

  write(file: string, lines: readonly string[]): void {
    mkdirSync(dirname(this.path(file)), { recursive: true })
    writeFileSync(this.path(file), lines.join(''))
  }

  makeFolder(path: string, owner: number, mode: number): void {
    mkdirSync(this.path(path), { recursive: true })
    chownSync(this.path(path), owner, owner)
    chmodSync(this.path(path), mode)
  }

  /** Runs `petstore` as a user, in the root folder. */
  run(uid: number, args: readonly string[], env: Record<string, string> = {}): CommandResult {
    const options = { env: { PATH: '/usr/bin:/usr/sbin:/bin:/sbin', ...env }, encoding: 'utf8' } as const
    const { status, stdout, stderr, error } = spawnSync('chroot', [...this.#chroot(uid), ...args], options)
    if (error) throw error
    return { code: status, stdout, stderr }
  }

  /** The path, outside of the root, of a script that runs `petstore` as a user in the root folder. */
  script(uid: number): string {
    const file = `/petstore-${uid}`
    this.write(file, ['#!/bin/sh\n', `exec chroot ${this.#chroot(uid).join(' ')} "$@"\n`])
    chmodSync(this.path(file), 0o755)
    return this.path(file)
  }

  #chroot = (uid: number): string[] => [
    `--userspec=${uid}:${uid}`,
    '--groups=',
    this.folder,
    '/usr/bin/petstore',
  ]
}

/** The shared libraries of a program, and the loader. */
function librariesOf(program: string): string[] {
  const listed = execFileSync('ldd', [program], { encoding: 'utf8' })
  return [...listed.matchAll(/(?:=>)?\s+(\/\S+) \(0x/g)].map(([, path = '']) => path)
}
