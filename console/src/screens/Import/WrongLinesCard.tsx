import type { Import } from '../../../../client/src/index.ts'
import { formatCount, pluralize } from '../../app/format.ts'
import { Card } from '../../components/Card.tsx'

type WrongLinesCardProps = { wrong: Import['wrong']; lines: Import['wrongLines'] }

/** The lines that are left out, and why. */
export function WrongLinesCard({ wrong, lines }: WrongLinesCardProps) {
  if (wrong === 0) return null
  const more = wrong - lines.length
  return (
    <Card
      title="Wrong lines"
      text={`${pluralize(wrong, 'line')} of the file cannot be imported. Correct the file, the options or the columns.`}
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section class="import-lines" tabIndex={0} aria-label="Wrong lines, scrollable">
        <ol>
          {lines.map(({ line, reason }) => (
            <li key={`${line} ${reason}`}>
              <strong>Line {formatCount(line)}</strong> <bdi>{reason}</bdi>
            </li>
          ))}
        </ol>
      </section>
      {more > 0 && <p class="muted">And {formatCount(more)} more.</p>}
    </Card>
  )
}
