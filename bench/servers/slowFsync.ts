import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { createRunDir } from '../data/databases.ts'
import type { Env } from '../host/processes.ts'
import { benchDir, findProgram } from '../host/programs.ts'

/** Compiles a library that delays each fsync. Returns the variables that preload it. */
export function slowFsyncEnv(delayMs: number): Env {
  const compiler = ['cc', 'gcc', 'clang'].find((name) => findProgram(name) !== undefined)
  if (process.platform !== 'linux') throw new Error('fsync can be delayed on Linux only.')
  if (compiler === undefined) throw new Error('No C compiler (cc, gcc or clang) is installed.')
  const library = join(createRunDir(), 'slowFsync.so')
  const source = join(benchDir, 'servers', 'slowFsync.c')
  execFileSync(compiler, ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'])
  return { LD_PRELOAD: library, BENCH_FSYNC_MS: String(delayMs) }
}
