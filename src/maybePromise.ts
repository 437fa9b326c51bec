/** A value, or a promise of it. A value that is there is used at once, because a promise costs time. */
export type MaybePromise<T> = T | Promise<T>

export const chain = <T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> =>
  value instanceof Promise ? value.then(next) : next(value)
