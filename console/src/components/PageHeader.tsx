import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { environment } from '../app/session.ts'

type PageHeaderProps = { title: string; text?: ComponentChildren; actions?: ComponentChildren }

/** The heading of a screen. It also names the document. */
export function PageHeader({ title, text, actions }: PageHeaderProps) {
  useEffect(() => {
    document.title = `${environment === 'staging' ? 'Staging: ' : ''}${title} - Petstore`
  }, [title])
  return (
    <header class="page-header">
      <div>
        <h1>{title}</h1>
        {text !== undefined && <p class="page-text">{text}</p>}
      </div>
      {actions && <div class="page-actions">{actions}</div>}
    </header>
  )
}
