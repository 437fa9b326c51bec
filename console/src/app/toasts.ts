import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'

/** Short messages at the edge of the screen. A toast with an undo action stays until its time ends. */
type Toast = {
  readonly id: number
  readonly text: ComponentChildren
  readonly tone: 'neutral' | 'danger'
  readonly undo?: () => void
  readonly durationMs: number
  /** Called when the time ends. */
  readonly onEnd?: () => void
}

/** Toasts with an undo action are not counted: each has an action that is not sent yet. */
const toastsMax = 4
const durationMs = 5_000
const errorDurationMs = 9_000

export const toasts = signal<readonly Toast[]>([])
let lastId = 0

/** The time that is left, while it is not paused. */
type Timer = { leftMs: number; startedAt: number; handle: ReturnType<typeof setTimeout> | undefined }
const timers = new Map<number, Timer>()
let pauses = 0

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
  toasts.value = [...toasts.value, toast]
  const plain = toasts.value.filter(({ undo }) => !undo)
  for (const { id } of plain.slice(0, -toastsMax)) dismissToast(id)
  timers.set(toast.id, { leftMs: toast.durationMs, startedAt: 0, handle: undefined })
  if (pauses === 0) start(toast.id)
  return () => dismissToast(toast.id)
}

export function dismissToast(id: number): void {
  clearTimeout(timers.get(id)?.handle)
  timers.delete(id)
  toasts.value = toasts.value.filter((toast) => toast.id !== id)
}

/** Stops the time of all toasts, while the person points at one, has the focus there, or cannot reach them. */
export function pauseToasts(): () => void {
  if (pauses++ === 0) for (const timer of timers.values()) stop(timer)
  let isPaused = true
  return () => {
    if (!isPaused) return
    isPaused = false
    if (--pauses === 0) for (const id of timers.keys()) start(id)
  }
}

function start(id: number): void {
  const timer = timers.get(id)
  if (!timer) return
  timer.startedAt = Date.now()
  timer.handle = setTimeout(() => {
    const toast = toasts.value.find((one) => one.id === id)
    dismissToast(id)
    toast?.onEnd?.()
  }, timer.leftMs)
}

function stop(timer: Timer): void {
  clearTimeout(timer.handle)
  timer.leftMs -= Date.now() - timer.startedAt
}

export const showError = (text: ComponentChildren): (() => void) => showToast(text, { tone: 'danger' })
