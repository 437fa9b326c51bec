const tones: Readonly<Record<string, string>> = {
  available: 'success',
  pending: 'warning',
  sold: 'neutral',
  placed: 'info',
  approved: 'warning',
  delivered: 'success',
  cancelled: 'neutral',
  enabled: 'success',
  paused: 'warning',
  disabled: 'danger',
  succeeded: 'success',
  failed: 'danger',
  waiting: 'info',
  active: 'success',
  revoked: 'neutral',
  expired: 'neutral',
  banned: 'danger',
}

export const statusName = (status: string): string =>
  `${status.charAt(0).toUpperCase()}${status.slice(1).replaceAll('_', ' ')}`

/** The status is a word. The colour repeats it. */
export const StatusChip = ({ status }: { status: string }) => (
  <span class={`chip chip-${tones[status] ?? 'neutral'}`}>{statusName(status)}</span>
)
