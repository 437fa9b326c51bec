import { useEffect, useRef } from 'preact/hooks'
import { dismissToast, pauseToasts, toasts } from '../app/toasts.ts'
import { Button, IconButton } from './Button.tsx'

/**
 * The live region is always in the document, so that screen readers notice what is added. The time of the messages stops
 * while the pointer or the focus is on them.
 */
export function Toasts() {
  const container = useRef<HTMLDivElement>(null)
  const resume = useRef<() => void>(undefined)
  const isPaused = useRef({ isPointed: false, hasFocus: false })
  function update(changes: Partial<typeof isPaused.current>) {
    Object.assign(isPaused.current, changes)
    const { isPointed, hasFocus } = isPaused.current
    if (isPointed || hasFocus) resume.current ??= pauseToasts()
    else {
      resume.current?.()
      resume.current = undefined
    }
  }
  const isEmpty = toasts.value.length === 0
  // What is removed from the document sends no event.
  useEffect(() => {
    if (isEmpty) update({ isPointed: false })
    update({ hasFocus: container.current?.contains(document.activeElement) ?? false })
  })
  useEffect(() => () => update({ isPointed: false, hasFocus: false }), [])
  return (
    <section class="toasts" aria-label="Messages">
      <div
        ref={container}
        role="status"
        aria-live="polite"
        onPointerEnter={({ pointerType }) => update({ isPointed: pointerType !== 'touch' })}
        onPointerLeave={() => update({ isPointed: false })}
        onFocusIn={() => update({ hasFocus: true })}
        onFocusOut={() => update({ hasFocus: false })}
      >
        {toasts.value.map(({ id, text, tone, undo }) => (
          <div key={id} class={`toast toast-${tone}`}>
            <span class="toast-text">{text}</span>
            {undo ? (
              <Button kind="quiet" size="small" aria-keyshortcuts="Control+Z" title="Ctrl+Z" onClick={undo}>
                Undo
              </Button>
            ) : (
              <IconButton size="small" label="Dismiss" icon="close" onClick={() => dismissToast(id)} />
            )}
          </div>
        ))}
      </div>
    </section>
  )
}
