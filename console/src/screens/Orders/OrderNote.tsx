import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** The beginning of a note, with a button that shows the rest if there is more. */
export function OrderNote({ text }: { text: string }) {
  const note = useRef<HTMLParagraphElement>(null)
  const [isOpen, setOpen] = useState(false)
  const [isLong, setLong] = useState(false)
  // How much fits depends on the width of the column.
  useLayoutEffect(() => {
    const element = note.current
    if (!element || isOpen) return
    const observer = new ResizeObserver(() => setLong(element.scrollHeight > element.clientHeight + 1))
    observer.observe(element)
    return () => observer.disconnect()
  }, [text, isOpen])
  return (
    <div class="order-note">
      <p ref={note} class={isOpen ? '' : 'order-note-clamped'}>
        {text}
      </p>
      {isLong && (
        <button type="button" class="link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Show less' : 'Show whole note'}
        </button>
      )}
    </div>
  )
}
