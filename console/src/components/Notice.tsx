import type { ComponentChildren } from 'preact'
import { Icon } from './Icon.tsx'

type NoticeProps = { tone?: 'neutral' | 'warning' | 'danger'; children: ComponentChildren }

/** A message within the content. A danger is announced at once. */
export const Notice = ({ tone = 'neutral', children }: NoticeProps) => (
  <div class={`notice notice-${tone}`} role={tone === 'danger' ? 'alert' : 'status'}>
    <Icon name="alert" />
    <div>{children}</div>
  </div>
)
