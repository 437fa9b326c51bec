import { effect, type Signal, signal } from '@preact/signals'

/** One of several values that the browser keeps. The first one is the default. If it blocks the storage, a choice holds for this document. */
export function browserChoice<Value extends string>(
  name: string,
  values: readonly [Value, ...Value[]],
): Signal<Value> {
  const choice = signal(values[0])
  tryStorage(() => {
    choice.value = values.find((value) => value === localStorage.getItem(name)) ?? values[0]
  })
  effect(() => {
    const { value } = choice
    tryStorage(() => {
      if (value === values[0]) localStorage.removeItem(name)
      else localStorage.setItem(name, value)
    })
  })
  return choice
}

/** Undefined if the browser blocks the storage. */
export function tryStorage<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch {
    return undefined
  }
}

/** Whether a media query matches. */
export function mediaSignal(text: string): Signal<boolean> {
  const query = matchMedia(text)
  const matches = signal(query.matches)
  query.addEventListener('change', () => {
    matches.value = query.matches
  })
  return matches
}
