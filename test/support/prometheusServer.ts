import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { stringify } from 'yaml'
import { eventually } from './eventually.ts'
import { freePort } from './postgresPrograms.ts'
import { folderFor } from './servers.ts'

type Series = { metric: Record<string, string>; value: [time: number, value: string] }

/** Whether `prometheus` and `promtool` are in the PATH. */
export const isPrometheusInstalled = ['prometheus', 'promtool'].every(
  (program) => spawnSync(program, ['--version']).status === 0,
)

export type Prometheus = {
  get(path: string): Promise<unknown>
  /** The series of an instant query now. Fails if the query is not valid. */
  query(expr: string): Promise<Series[]>
}

/** Prometheus with this configuration and an empty database. It ends after the test. */
export async function prometheusFor(t: Pick<TestContext, 'after'>, config: object): Promise<Prometheus> {
  const folder = folderFor(t)
  const file = join(folder, 'prometheus.yml')
  writeFileSync(file, stringify(config))
  const address = `127.0.0.1:${await freePort()}`
  const args = [`--config.file=${file}`, `--storage.tsdb.path=${folder}`, `--web.listen-address=${address}`]
  const child = spawn('prometheus', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const ended = once(child, 'close')
  t.after(async () => {
    kill()
    process.off('exit', kill)
    await ended
  })
  const isReady = () =>
    fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  await eventually('Prometheus is ready', () => {
    if (child.exitCode !== null) throw new Error(`Prometheus did not start.\n${log}`)
    return isReady()
  })
  const get = async (path: string) => {
    const response = await fetch(`http://${address}/api/v1/${path}`)
    const { status, data, error } = (await response.json()) as Record<string, unknown>
    if (status !== 'success') throw new Error(`${path}: ${error}`)
    return data
  }
  return {
    get,
    query: async (expr) =>
      ((await get(`query?query=${encodeURIComponent(expr)}`)) as { result: Series[] }).result,
  }
}
