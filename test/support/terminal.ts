import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mainFile } from './mainFile.ts'

const waitMaxMs = 30_000

/** Runs `petstore` in a terminal, which both outputs go to. */
export function spawnInTerminal(args: string[], env: Record<string, string>) {
  const command = [process.execPath, mainFile, ...args].map((word) => `'${word}'`).join(' ')
  // From util-linux, and from BSD on macOS.
  const options =
    process.platform === 'linux' ? ['-qefc', command, '/dev/null'] : ['-q', '/dev/null', 'sh', '-c', command]
  const { PATH = '', HOME = '' } = process.env
  const child = spawn('script', options, { env: { PATH, HOME, TERM: 'xterm-256color', ...env } })
  const output = { text: '' }
  const look: (() => void)[] = []
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.text += text.replaceAll('\r\n', '\n')
    for (const each of look) each()
  })
  return {
    output,
    /** Waits until the output contains a text. Fails if the command ends first, or after a while. */
    until: (text: string | RegExp) =>
      new Promise<void>((resolve, reject) => {
        const fail = () => reject(new Error(`Not printed: ${text}\n${output.text}`))
        const timer = setTimeout(fail, waitMaxMs)
        const isThere = () => {
          if (output.text.search(text) === -1) return
          clearTimeout(timer)
          resolve()
        }
        look.push(isThere)
        isThere()
        child.once('close', fail)
      }),
    /** Presses Ctrl-C, and waits for the end. */
    async interrupt(): Promise<void> {
      const closed = once(child, 'close')
      child.stdin.write('\x03')
      await closed
    },
    kill: () => child.kill('SIGKILL'),
  }
}
