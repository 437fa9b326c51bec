import type { ButtonHTMLAttributes } from 'preact'
import { Icon, type IconName } from './Icon.tsx'

type ButtonProps = Omit<ButtonHTMLAttributes, 'size' | 'icon'> & {
  kind?: 'primary' | 'secondary' | 'quiet' | 'danger'
  size?: 'normal' | 'small'
  icon?: IconName
  /** While the action runs. The button keeps its focus, and does nothing. */
  isBusy?: boolean
}

export function Button({
  kind = 'secondary',
  size = 'normal',
  icon,
  isBusy,
  children,
  class: more,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      class={`button button-${kind} button-${size} ${more ?? ''}`}
      aria-disabled={isBusy ? 'true' : rest['aria-disabled']}
      {...(isBusy && { onClick: (event: Event) => event.preventDefault() })}
    >
      {isBusy ? <span class="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** A button that shows only an icon. Its label is its name. */
export const IconButton = ({ label, icon, ...rest }: ButtonProps & { label: string; icon: IconName }) => (
  <Button kind="quiet" {...rest} aria-label={label} title={label} class="button-icon" icon={icon} />
)
