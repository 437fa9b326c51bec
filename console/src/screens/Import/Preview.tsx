import type { Import } from '../../../../client/src/index.ts'
import { formatCount, pluralize } from '../../app/format.ts'
import { useAction } from '../../app/useAction.ts'
import { Button } from '../../components/Button.tsx'
import { Card } from '../../components/Card.tsx'
import { Notice } from '../../components/Notice.tsx'
import { TimeAgo } from '../../components/TimeAgo.tsx'
import { AnimalsCard } from './AnimalsCard.tsx'
import { ColumnsCard } from './ColumnsCard.tsx'
import type { ImportModel } from './importModel.ts'
import { OptionsCard } from './OptionsCard.tsx'
import { WrongLinesCard } from './WrongLinesCard.tsx'

type PreviewProps = { model: ImportModel; preview: Import }

const systems = {
  asm3: 'ASM3',
  shelterluv: 'Shelterluv',
  petpoint: 'PetPoint',
  rescuegroups: 'RescueGroups',
  petfinder: 'Petfinder',
} as const

/** What applying the file would do. */
export function Preview({ model, preview }: PreviewProps) {
  const { from, newCategories, columns, createdAt } = preview
  // The numbers are those of other settings.
  const isStale = model.isChecking.value || model.error.value !== undefined
  const hasPhotos = columns.some(({ fields }) => fields.includes('photos'))
  return (
    <>
      <Card
        title="What would happen"
        {...(from !== null && { text: `The file is an export of ${systems[from]}.` })}
        class={isStale ? 'import-stale' : ''}
      >
        <Counts preview={preview} />
        {!model.file.value && (
          <p>
            The file was uploaded <TimeAgo at={createdAt} />, but not on this page. Its name is not stored.
          </p>
        )}
        {newCategories.length > 0 && (
          <p>
            New categories: <bdi>{newCategories.join(', ')}</bdi>
          </p>
        )}
        {hasPhotos && (
          <p class="muted">
            Photos are not imported here. The command <code>petstore import --photos</code> fetches them.
          </p>
        )}
        <ApplyActions model={model} preview={preview} isStale={isStale} />
      </Card>
      <WrongLinesCard wrong={preview.wrong} lines={preview.wrongLines} />
      <OptionsCard model={model} />
      <ColumnsCard model={model} preview={preview} />
      <AnimalsCard preview={preview} />
    </>
  )
}

function Counts({ preview: { expected, wrong } }: { preview: Import }) {
  const { added, changed, unchanged, unlisted } = expected
  const figures = [
    ['New', added],
    ['Changed', changed],
    ['Unchanged', unchanged],
    ...(unlisted > 0 ? ([['No longer listed', unlisted]] as const) : []),
    ['Wrong lines', wrong],
  ] as const
  return (
    <dl class="import-counts">
      {figures.map(([name, count]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{formatCount(count)}</dd>
        </div>
      ))}
    </dl>
  )
}

function ApplyActions({ model, preview, isStale }: PreviewProps & { isStale: boolean }) {
  const { isBusy, run } = useAction()
  const action = actionOf(preview)
  return (
    <>
      {action === undefined ? (
        <Notice>
          {preview.total === 0
            ? 'The file has no animal that can be imported.'
            : 'The file changes nothing: its animals are here already.'}
        </Notice>
      ) : (
        preview.wrong > 0 && (
          <p class="muted">
            {preview.wrong === 1 ? 'The wrong line is' : `The ${formatCount(preview.wrong)} wrong lines are`}{' '}
            left out.
          </p>
        )
      )}
      <div class="import-actions">
        {action !== undefined && (
          <Button
            kind="primary"
            icon="check"
            isBusy={isBusy}
            disabled={isStale}
            onClick={() => void run(() => model.apply())}
          >
            {action}
          </Button>
        )}
        <Button disabled={isBusy} onClick={() => void model.discard()}>
          Discard
        </Button>
      </div>
    </>
  )
}

/** "Add 28 animals, change 2". Undefined if there is nothing to do. */
function actionOf({ expected: { added, changed, unlisted } }: Import): string | undefined {
  const parts = [
    ['add', added],
    ['change', changed],
    ['unlist', unlisted],
  ] as const
  const [first, ...others] = parts.filter(([, count]) => count > 0)
  if (!first) return undefined
  const begin = `${first[0].charAt(0).toUpperCase()}${first[0].slice(1)} ${pluralize(first[1], 'animal')}`
  return [begin, ...others.map(([verb, count]) => `${verb} ${formatCount(count)}`)].join(', ')
}
