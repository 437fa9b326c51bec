import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

type CardProps = {
  title: string
  /** A link with this fragment moves to it. */
  anchor?: string
  text?: ComponentChildren
  actions?: ComponentChildren
  class?: string
  children: ComponentChildren
}

/** A part of a screen with a heading. */
export function Card({ title, anchor, text, actions, class: more, children }: CardProps) {
  const id = useId()
  return (
    <section
      class={`card ${more ?? ''}`}
      id={anchor}
      tabIndex={anchor === undefined ? undefined : -1}
      aria-labelledby={id}
    >
      <header class="card-header">
        <div>
          <h2 id={id}>{title}</h2>
          {text !== undefined && <p class="card-text">{text}</p>}
        </div>
        {actions}
      </header>
      {children}
    </section>
  )
}
