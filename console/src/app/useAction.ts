import { useState } from 'preact/hooks'
import { isAbort, toRequestError } from './errors.ts'
import { showError } from './toasts.ts'

/** Runs an action of a button, one at a time. If it fails, a message says why, unless the session has ended. */
export function useAction(): { isBusy: boolean; run(action: () => Promise<void>): Promise<void> } {
  const [isBusy, setBusy] = useState(false)
  async function run(action: () => Promise<void>) {
    if (isBusy) return
    setBusy(true)
    await action().catch((thrown: unknown) => {
      if (!isAbort(thrown)) showError(toRequestError(thrown).message)
    })
    setBusy(false)
  }
  return { isBusy, run }
}
