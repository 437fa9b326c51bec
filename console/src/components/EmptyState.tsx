import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './Icon.tsx'

type EmptyStateProps = {
  icon: IconName
  title: string
  text?: ComponentChildren
  /** What the person can do about it. */
  action?: ComponentChildren
  tone?: 'neutral' | 'danger' | 'warning'
}

/** Nothing to show, and why. The other states are drawn with it. */
export const EmptyState = ({ icon, title, text, action, tone = 'neutral' }: EmptyStateProps) => (
  <div class={`state state-${tone}`}>
    <span class="state-icon">
      <Icon name={icon} />
    </span>
    <h2 class="state-title">{title}</h2>
    {text !== undefined && <p class="state-text">{text}</p>}
    {action !== undefined && <div class="state-action">{action}</div>}
  </div>
)
