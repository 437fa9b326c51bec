import { useState } from 'preact/hooks'
import { toRequestError } from './errors.ts'
import { showError } from './toasts.ts'

/** Runs an action of a button, one at a time. If it fails, a message says why. */
export function useAction(): { isBusy: boolean; run(action: () => Promise<void>): Promise<void> } {
  const [isBusy, setBusy] = useState(false)
  async function run(action: () => Promise<void>) {
    if (isBusy) return
    setBusy(true)
    await action().catch((thrown: unknown) => void showError(toRequestError(thrown).message))
    setBusy(false)
  }
  return { isBusy, run }
}
