import type { ComponentChildren } from 'preact'

/** A name that someone chose. The direction of its letters does not change the text around it. */
export const Name = ({ children }: { children: string }) => <bdi>{children}</bdi>

/** A text with names: withNames`Order ${5} for ${'Milo'} placed.` */
export const withNames = (
  texts: TemplateStringsArray,
  ...values: readonly (string | number | bigint)[]
): ComponentChildren =>
  texts.map((text, index) => {
    const value = values[index]
    return [text, typeof value === 'string' ? <Name>{value}</Name> : value?.toString()]
  })
