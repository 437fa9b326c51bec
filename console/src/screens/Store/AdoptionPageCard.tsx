import { useState } from 'preact/hooks'
import type { StoreProfile } from '../../../../client/src/index.ts'
import { hasScope } from '../../app/session.ts'
import { store } from '../../app/store.ts'
import { showToast } from '../../app/toasts.ts'
import { useAction } from '../../app/useAction.ts'
import { Card } from '../../components/Card.tsx'
import { CopyField } from '../../components/CopyField.tsx'
import { CheckField } from '../../components/Field.tsx'
import { Notice } from '../../components/Notice.tsx'

type AdoptionPageCardProps = { profile: StoreProfile; onChange(profile: StoreProfile): void }

/** Turns the public web pages of the store on and off. */
export function AdoptionPageCard({ profile, onChange }: AdoptionPageCardProps) {
  const { adoptionPage, publicUrl } = profile
  const address = `${publicUrl ?? location.origin}/adopt`
  return (
    <Card
      title="Adoption page"
      text="Shows the listed animals with their photos, and how to reach the store, to everyone on the web."
    >
      <div class="store-page">
        {hasScope('keys:manage') ? (
          <PageSwitch isOn={adoptionPage} onChange={onChange} />
        ) : (
          <p>
            The page is <strong>{adoptionPage ? 'on' : 'off'}</strong>.
          </p>
        )}
        <CopyField label="Address" text={address} />
        {adoptionPage && (
          <p>
            <a href={address} target="_blank" rel="noopener">
              Open the adoption page
            </a>
          </p>
        )}
        {publicUrl === null && (
          <Notice>
            The setting <code>PETSTORE_PUBLIC_URL</code> of the service is not set. Without it, the page has
            no canonical link, site map or feed. <a href="/guides/running#the-store-profile">How to set it</a>
          </Notice>
        )}
      </div>
    </Card>
  )
}

type PageSwitchProps = { isOn: boolean; onChange(profile: StoreProfile): void }

function PageSwitch({ isOn, onChange }: PageSwitchProps) {
  const { isBusy, run } = useAction()
  /** What is shown while it is sent. */
  const [chosen, setChosen] = useState(isOn)
  const turn = (adoptionPage: boolean) => {
    if (isBusy) return
    setChosen(adoptionPage)
    void run(async () => {
      onChange(await store.profile.update({ adoptionPage }))
      showToast(`The adoption page is ${adoptionPage ? 'on' : 'off'}.`)
    })
  }
  return (
    <CheckField isSwitch label="Show the adoption page" isChecked={isBusy ? chosen : isOn} onChecked={turn} />
  )
}
