import { useState } from 'preact/hooks'
import type { Import } from '../../../../client/src/index.ts'
import { formatCount, pluralize } from '../../app/format.ts'
import { usePolling, useResource } from '../../app/resource.ts'
import { hrefOf } from '../../app/router.ts'
import { store } from '../../app/store.ts'
import { Button } from '../../components/Button.tsx'
import { Card } from '../../components/Card.tsx'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { Facts } from '../../components/Facts.tsx'
import { ResourceView } from '../../components/ResourceView.tsx'
import { TimeAgo } from '../../components/TimeAgo.tsx'
import { WrongLinesCard } from './WrongLinesCard.tsx'

const pollMs = 1_000

type RunningImportProps = { id: string; onEnd(): void }

/** An import that is being applied, and its result. */
export function RunningImport({ id, onEnd }: RunningImportProps) {
  const resource = useResource((signal) => store.imports.get(id, { signal }), [id])
  const { data, error } = resource
  usePolling(resource, data?.state === 'applied' || error?.status === 404 ? undefined : pollMs)
  if (error?.status === 404)
    return (
      <EmptyState
        icon="clock"
        title="This import no longer exists"
        text="It was stopped, or has ended some time ago. What it has changed stays."
        action={<Button onClick={onEnd}>Import a file</Button>}
      />
    )
  return (
    <ResourceView resource={resource} name="the import">
      {(running) => (
        <>
          {running.state === 'applied' ? (
            <Result ended={running} onEnd={onEnd} />
          ) : (
            <ProgressCard running={running} onStopped={onEnd} />
          )}
          <WrongLinesCard wrong={running.wrong} lines={running.wrongLines} />
        </>
      )}
    </ResourceView>
  )
}

function ProgressCard({ running, onStopped }: { running: Import; onStopped(): void }) {
  const [isStopping, setStopping] = useState(false)
  const { id, done, total, createdAt } = running
  async function stop() {
    await store.imports.delete(id)
    onStopped()
  }
  const text = (
    <>
      The file was uploaded <TimeAgo at={createdAt} />. You can leave this page: the import goes on.
    </>
  )
  return (
    <Card title="Importing" text={text}>
      <progress class="import-progress" aria-label="Progress" max={Math.max(total, 1)} value={done} />
      <p>
        {formatCount(done)} of {pluralize(total, 'animal')}
      </p>
      <div class="import-actions">
        <Button onClick={() => setStopping(true)}>Stop</Button>
      </div>
      {isStopping && (
        <ConfirmDialog
          title="Stop the import?"
          text={`${formatCount(done)} of ${pluralize(total, 'animal')} are imported and stay. If you import the file again later, animals without an intake number or id are added a second time.`}
          action="Stop"
          isDanger
          run={stop}
          onClose={() => setStopping(false)}
        />
      )}
    </Card>
  )
}

function Result({ ended, onEnd }: { ended: Import; onEnd(): void }) {
  const { added, changed, unchanged, unlisted } = ended.result
  return (
    <Card title="Imported">
      <p role="status">
        {pluralize(added, 'animal')} added, {formatCount(changed)} changed, {formatCount(unchanged)} unchanged
        {unlisted > 0 && `, ${formatCount(unlisted)} no longer listed`}
        {ended.wrong > 0 && `. ${pluralize(ended.wrong, 'wrong line')} left out`}.
      </p>
      <Facts
        facts={[
          [
            'New categories',
            ended.newCategories.length > 0 ? <bdi>{ended.newCategories.join(', ')}</bdi> : undefined,
          ],
        ]}
      />
      <div class="import-actions">
        <a class="button button-primary button-normal" href={hrefOf('animals')}>
          Show the animals
        </a>
        <Button onClick={onEnd}>Import another file</Button>
      </div>
    </Card>
  )
}
