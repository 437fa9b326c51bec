/** A value that may have to be waited for: nothing is waited for where nothing waits, for a promise is not free. */
export type Soon<T> = T | Promise<T>

export const andThen = <T, R>(value: Soon<T>, next: (value: T) => Soon<R>): Soon<R> =>
  value instanceof Promise ? value.then(next) : next(value)
