import { constants } from 'node:os'

/** Ctrl-C arrives twice, from the terminal and through npm. Within this time it counts once. */
export const sameSignalMs = 100

/** Ctrl-C or SIGTERM has stopped the command. */
export class InterruptedError extends Error {
  readonly exitCode: number

  constructor(outcome: string, exitCode: number) {
    super(`Interrupted: ${outcome}.`)
    this.exitCode = exitCode
  }
}

/**
 * Runs work that Ctrl-C and SIGTERM abort. The work removes what it made and throws the reason of the abort. `outcome`
 * says in the error message what is left. A second signal ends the process.
 */
export async function interruptible<T>(outcome: () => string, work: (signal: AbortSignal) => Promise<T>) {
  const controller = new AbortController()
  const { signal } = controller
  let abortedAt = 0
  const onSignal = (name: NodeJS.Signals) => {
    // As a shell reports a process that the signal ended.
    const exitCode = 128 + constants.signals[name]
    if (!signal.aborted) {
      abortedAt = performance.now()
      controller.abort(new InterruptedError('the work was not completed', exitCode))
    } else if (performance.now() - abortedAt >= sameSignalMs) process.exit(exitCode)
  }
  const names = ['SIGINT', 'SIGTERM'] as const
  for (const name of names) process.on(name, onSignal)
  try {
    return await work(signal)
  } catch (error) {
    throw error === signal.reason ? new InterruptedError(outcome(), signal.reason.exitCode) : error
  } finally {
    for (const name of names) process.off(name, onSignal)
  }
}
