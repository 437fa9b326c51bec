import { useEffect, useMemo, useRef } from 'preact/hooks'
import { pluralize } from '../../app/format.ts'
import { useAction } from '../../app/useAction.ts'
import { useFileDrop } from '../../app/useFileDrop.ts'
import { isTouch } from '../../app/viewport.ts'
import { Button } from '../../components/Button.tsx'
import { DetailHeader } from '../../components/DetailHeader.tsx'
import { ErrorNotice } from '../../components/ErrorNotice.tsx'
import { Icon } from '../../components/Icon.tsx'
import { Notice } from '../../components/Notice.tsx'
import { TimeAgo } from '../../components/TimeAgo.tsx'
import { ImportModel } from './importModel.ts'
import { Preview } from './Preview.tsx'
import { RunningImport } from './RunningImport.tsx'
import './import.css'

/** Animals from a CSV file: choose it, look at what would happen, correct the columns, apply. */
export default function Import() {
  const model = useMemo(() => new ImportModel(), [])
  useEffect(() => {
    void model.open()
    return () => model.close()
  }, [model])
  const isOver = useFileDrop(([file]) => {
    if (file && model.startedId.value === undefined) void model.choose(file)
  })
  return (
    <>
      <DetailHeader title="Import animals" parent={{ path: 'animals', name: 'Animals' }} />
      <div class={`import file-drop ${isOver ? 'file-drop-over' : ''}`}>
        {model.startedId.value === undefined ? (
          <NewImport model={model} />
        ) : (
          <RunningImport id={model.startedId.value} onEnd={() => void model.reset()} />
        )}
      </div>
    </>
  )
}

function NewImport({ model }: { model: ImportModel }) {
  const error = model.error.value
  return (
    <>
      <FileChoice model={model} />
      {model.other.value ? <OtherImport model={model} /> : error && <ErrorNotice error={error} />}
      {model.preview.value && <Preview model={model} preview={model.preview.value} />}
    </>
  )
}

function FileChoice({ model }: { model: ImportModel }) {
  const input = useRef<HTMLInputElement>(null)
  const file = model.file.value
  const isChecking = model.isChecking.value
  return (
    <>
      <input
        ref={input}
        type="file"
        class="visually-hidden"
        tabIndex={-1}
        aria-label="CSV file"
        accept=".csv,.tsv,.txt,text/csv"
        onChange={({ currentTarget }) => {
          const [chosen] = currentTarget.files ?? []
          if (chosen) void model.choose(chosen)
          currentTarget.value = ''
        }}
      />
      {file ? (
        <div class="card import-file">
          <Icon name="docs" />
          <div class="import-file-name">
            <bdi>{file.name}</bdi>
            <span class="muted" role="status">
              {isChecking ? 'The file is being checked.' : ''}
            </span>
          </div>
          {isChecking && <span class="spinner" aria-hidden="true" />}
          <Button isBusy={isChecking} onClick={() => input.current?.click()}>
            Choose another file
          </Button>
        </div>
      ) : (
        <button type="button" class="import-choose" onClick={() => input.current?.click()}>
          <Icon name="plus" />
          <strong>Choose a CSV file</strong>
          <span>
            {isTouch.value ? '' : 'Or drop it on this page. '}A spreadsheet saved as CSV (UTF-8), or an export
            of ASM3, Shelterluv, PetPoint, RescueGroups or Petfinder. Nothing is changed before you have seen
            what would happen.
          </span>
        </button>
      )}
      {!file && (
        <p class="muted">
          The guide{' '}
          <a class="link" href="/guides/move-in">
            Move in
          </a>{' '}
          lists the headings that are recognized.
        </p>
      )}
    </>
  )
}

/** Another import is not finished, of this person or of another one. */
function OtherImport({ model }: { model: ImportModel }) {
  const { isBusy, run } = useAction()
  const other = model.other.value
  if (!other) return null
  const isReady = other.state === 'ready'
  return (
    <Notice tone="warning">
      <p>
        {isReady ? 'Another file was checked ' : 'Another import was started '}
        <TimeAgo at={other.createdAt} /> and is not finished: {pluralize(other.total, 'animal')}. Only one
        import is possible at a time.
      </p>
      <div class="import-actions">
        <Button isBusy={isBusy} onClick={() => void run(() => model.show(other))}>
          Show it
        </Button>
        {isReady && (
          <Button isBusy={isBusy} onClick={() => void run(() => model.discardOther())}>
            Discard it, and check my file
          </Button>
        )}
      </div>
    </Notice>
  )
}
