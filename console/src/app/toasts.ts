import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'

/** Short messages at the edge of the screen. A toast with an undo action stays until its time ends. */
export type Toast = {
  readonly id: number
  readonly text: ComponentChildren
  readonly tone: 'neutral' | 'success' | 'danger'
  readonly undo?: () => void
  readonly durationMs: number
}

const toastsMax = 4
const durationMs = 5_000
const errorDurationMs = 9_000

export const toasts = signal<readonly Toast[]>([])
let lastId = 0

export function showToast(
  text: ComponentChildren,
  options: Partial<Omit<Toast, 'id' | 'text'>> = {},
): () => void {
  const tone = options.tone ?? 'neutral'
  const toast: Toast = {
    durationMs: tone === 'danger' ? errorDurationMs : durationMs,
    ...options,
    tone,
    text,
    id: ++lastId,
  }
  toasts.value = [...toasts.value, toast].slice(-toastsMax)
  const dismiss = () => dismissToast(toast.id)
  setTimeout(dismiss, toast.durationMs)
  return dismiss
}

export function dismissToast(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id)
}

export const showError = (text: ComponentChildren): (() => void) => showToast(text, { tone: 'danger' })
