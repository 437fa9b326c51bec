import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './Icon.tsx'

type EntryProps = { icon: IconName; class: string; children: ComponentChildren }

/** Something that happened, in a list. */
export const Entry = ({ icon, class: more, children }: EntryProps) => (
  <li class={`entry ${more}`}>
    <span class="entry-icon">
      <Icon name={icon} />
    </span>
    <div class="entry-text">{children}</div>
  </li>
)
