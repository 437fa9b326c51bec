import type { ComponentChildren } from 'preact'
import { hrefOf } from '../app/router.ts'
import { Icon } from './Icon.tsx'
import { PageHeader } from './PageHeader.tsx'
import { StatusChip } from './StatusChip.tsx'

type DetailHeaderProps = {
  title: string
  /** The screen that lists things of this kind. */
  parent: { path: string; name: string }
  status?: string
  /** Beside the status. */
  text?: ComponentChildren
  actions?: ComponentChildren
}

/** The heading of one thing, with the way back to the list. */
export const DetailHeader = ({ parent, status, text, ...rest }: DetailHeaderProps) => (
  <div class="detail-header">
    <a class="detail-back" href={hrefOf(parent.path)}>
      <Icon name="back" />
      {parent.name}
    </a>
    <PageHeader
      {...rest}
      {...(status !== undefined && {
        text: (
          <span class="detail-status">
            <StatusChip status={status} />
            {text}
          </span>
        ),
      })}
    />
  </div>
)
