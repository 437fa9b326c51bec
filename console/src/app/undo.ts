import type { ComponentChildren } from 'preact'
import { keepFocus } from './focus.ts'
import { onSignOut } from './session.ts'
import { showToast } from './toasts.ts'

/**
 * An action that is sent when its undo time ends. It is sent at once when the page is closed or hidden for good, or at
 * sign-out, so it is never forgotten.
 */
export type UndoableAction = {
  readonly text: ComponentChildren
  /** Sends the request. `isLeaving` is true if the page is being closed: use `keepalive`. */
  commit(isLeaving: boolean): void
  undo(): void
}

export const undoMs = 6_000

const pending = new Map<symbol, (isLeaving: boolean) => void>()

export function runWithUndo({ text, commit, undo }: UndoableAction): void {
  const id = Symbol('undoable')
  const finish = (isLeaving: boolean) => {
    if (!pending.delete(id)) return
    clearTimeout(timer)
    dismiss()
    commit(isLeaving)
  }
  const timer = setTimeout(finish, undoMs, false)
  pending.set(id, finish)
  const dismiss = showToast(text, {
    durationMs: undoMs,
    undo: () => {
      if (!pending.delete(id)) return
      clearTimeout(timer)
      dismiss()
      undo()
      keepFocus()
    },
  })
}

const finishAll = () => {
  for (const finish of [...pending.values()]) finish(true)
}

globalThis.addEventListener('pagehide', finishAll)
onSignOut(finishAll)
