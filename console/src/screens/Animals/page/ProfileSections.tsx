import { useEffect } from 'preact/hooks'
import type { Fee, Int64 } from '../../../../../client/src/index.ts'
import { petName } from '../../../app/petNames.ts'
import { session } from '../../../app/session.ts'
import { showError, showToast } from '../../../app/toasts.ts'
import { Button } from '../../../components/Button.tsx'
import { Card } from '../../../components/Card.tsx'
import { ErrorNotice } from '../../../components/ErrorNotice.tsx'
import { Facts } from '../../../components/Facts.tsx'
import { Icon } from '../../../components/Icon.tsx'
import { Name } from '../../../components/Name.tsx'
import { Notice } from '../../../components/Notice.tsx'
import { controls } from './controls.tsx'
import { formatFee } from './FeeControl.tsx'
import { companionNames, type FieldSpec, optionName, type SectionSpec, sections } from './fields.ts'
import type { ProfileDraft, SaveState } from './profileDraft.ts'

/** The profile in sections, each of which is saved while it is edited. */
export function ProfileSections({ draft }: { draft: ProfileDraft }) {
  useEffect(() => {
    const leave = () => {
      if (session.peek()) draft.leave()
    }
    const retry = () => void draft.save()
    const restore = () => {
      if (draft.restore()) showToast('What you typed here last was not saved. It is here again.')
    }
    restore()
    globalThis.addEventListener('pagehide', leave)
    globalThis.addEventListener('pageshow', restore)
    globalThis.addEventListener('online', retry)
    return () => {
      globalThis.removeEventListener('pageshow', restore)
      globalThis.removeEventListener('online', retry)
      void saveAtEnd(draft).finally(() => globalThis.removeEventListener('pagehide', leave))
    }
  }, [draft])
  return (
    <>
      {sections.map((section) => (
        <Section key={section.title} draft={draft} section={section} />
      ))}
    </>
  )
}

/** What can no longer be saved, because the animal was removed. */
export function UnsavedChanges({ draft }: { draft: ProfileDraft }) {
  const edited = sections.flatMap(({ fields }) => fields.filter(({ name }) => draft.isEdited(name)))
  if (edited.length === 0) return null
  return (
    <Card title="Not saved" text="You have entered this, and it was not saved before the animal was removed.">
      <Facts
        facts={edited.map((spec) => [
          spec.label,
          <p key={spec.name} class="listing-text">
            <Name>{describe(spec, draft.value(spec.name))}</Name>
          </p>,
        ])}
      />
    </Card>
  )
}

/** The person has gone to another screen, or has signed out. */
async function saveAtEnd(draft: ProfileDraft): Promise<void> {
  const isSignedOut = session.peek() === undefined
  await draft.save(isSignedOut)
  // The end of the session has ended the save that was under way.
  if (isSignedOut && draft.isDirty) await draft.save(isSignedOut)
  if (!draft.isDirty) return
  // A browser ends requests before it tells the page that it is closed.
  if (!isSignedOut) draft.leave()
  const hint = isSignedOut ? '' : ' You find it when you open the animal again.'
  showError(`The last change of the profile was not saved.${hint}`)
}

type SectionProps = { draft: ProfileDraft; section: SectionSpec }

function Section({ draft, section }: SectionProps) {
  const { title, text, fields } = section
  const names = fields.map(({ name }) => name)
  const state = draft.state(names)
  const error = state === 'failed' ? draft.failure.value : undefined
  return (
    <Card
      title={title}
      {...(section === sections[0] && { anchor: 'profile' })}
      {...(text !== undefined && { text })}
      actions={<SavedMark state={state} />}
    >
      <div class="profile-fields" onFocusOut={() => void (draft.isDirty && draft.save())}>
        {fields.map((spec) => (
          <DraftField key={spec.name} draft={draft} spec={spec} />
        ))}
      </div>
      {error && (
        <div class="profile-failure">
          <ErrorNotice error={error}>Not saved. {error.messageWithoutDelay}</ErrorNotice>
          <Button size="small" icon="refresh" onClick={() => void draft.save()}>
            Save again
          </Button>
        </div>
      )}
    </Card>
  )
}

const stateTexts = { saving: 'Saving', saved: 'Saved', failed: 'Not saved' }

const SavedMark = ({ state }: { state: SaveState }) => (
  <span class={`save-state save-${state ?? 'none'}`} role="status">
    {state === 'saved' && <Icon name="check" />}
    {state && stateTexts[state]}
  </span>
)

type DraftFieldProps = { draft: ProfileDraft; spec: FieldSpec }

function DraftField({ draft, spec }: DraftFieldProps) {
  const { name } = spec
  const Control = controls[spec.kind]
  const value = draft.value(name)
  const conflict = draft.conflict(name)
  return (
    <div
      class={`profile-field ${spec.isWide ? 'profile-wide' : ''} ${spec.isTitled ? 'profile-titled' : ''}`}
    >
      <Control
        spec={spec}
        value={value}
        error={draft.error(name)}
        onValue={(next) => draft.set(name, next)}
        isComputed={name === 'ageGroup' && draft.value('birthDate') !== null}
      />
      {conflict && (
        <Notice tone="warning">
          <p>Someone else has changed this. It is now:</p>
          <p class="conflict-value">
            <Name>{describe(spec, conflict.theirs)}</Name>
          </p>
          <p>You have entered:</p>
          <p class="conflict-value">
            <Name>{describe(spec, value)}</Name>
          </p>
          <div class="conflict-actions">
            <Button size="small" onClick={() => draft.useTheirs(name)}>
              Use theirs
            </Button>
            <Button size="small" kind="primary" onClick={() => draft.keepMine(name)}>
              Keep mine
            </Button>
          </div>
        </Notice>
      )}
    </div>
  )
}

/** A value as text, to compare it with another one. */
function describe({ kind }: FieldSpec, value: unknown): string {
  if (value === null || value === undefined || value === '') return 'Empty'
  if (kind === 'flag' || kind === 'listed') return value ? 'Yes' : 'No'
  if (kind === 'choice') return optionName(String(value))
  if (kind === 'fee') return formatFee(value as Fee)
  if (kind === 'bonded') return (value as Int64[]).map(petName).join(', ') || 'None'
  if (kind === 'list') return (value as string[]).join(', ') || 'None'
  if (kind === 'attributes')
    return Object.entries(value as Record<string, string>)
      .map(([name, text]) => `${name}: ${text}`)
      .join(', ')
  if (kind === 'goodWith')
    return companionNames
      .map(({ name, label }) => {
        const known = (value as Record<string, string | null>)[name]
        return `${label}: ${known ?? 'unknown'}`
      })
      .join(', ')
  return String(value)
}
