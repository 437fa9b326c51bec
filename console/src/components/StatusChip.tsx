import { capitalize } from '../app/format.ts'

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
  failed: 'danger',
  active: 'success',
  revoked: 'neutral',
  expired: 'neutral',
  banned: 'danger',
}

export const statusName = (status: string): string => capitalize(status.replaceAll('_', ' '))

/** The status is a word. The colour repeats it. */
export const StatusChip = ({ status }: { status: string }) => (
  <span class={`chip chip-${tones[status] ?? 'neutral'}`}>{statusName(status)}</span>
)
