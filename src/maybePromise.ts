/** A value that may have to be waited for: nothing is waited for where nothing waits, for a promise is not free. */
export type MaybePromise<T> = T | Promise<T>

export const chain = <T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> =>
  value instanceof Promise ? value.then(next) : next(value)
