import type { ComponentChildren } from 'preact'

type FactsProps = { facts: readonly (readonly [name: string, value: ComponentChildren])[] }

/** Names and values. What is undefined is left out. */
export const Facts = ({ facts }: FactsProps) => (
  <dl class="facts">
    {facts.map(
      ([name, value]) =>
        value !== undefined && (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        ),
    )}
  </dl>
)
