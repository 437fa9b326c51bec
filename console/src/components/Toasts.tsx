import { dismissToast, toasts } from '../app/toasts.ts'
import { Button, IconButton } from './Button.tsx'

/** The live region is always in the document, so that screen readers notice what is added. */
export const Toasts = () => (
  <section class="toasts" aria-label="Messages">
    <div role="status" aria-live="polite">
      {toasts.value.map(({ id, text, tone, undo }) => (
        <div key={id} class={`toast toast-${tone}`}>
          <span class="toast-text">{text}</span>
          {undo && (
            <Button kind="quiet" size="small" onClick={undo}>
              Undo
            </Button>
          )}
          {!undo && <IconButton size="small" label="Dismiss" icon="close" onClick={() => dismissToast(id)} />}
        </div>
      ))}
    </div>
  </section>
)
