import type { ApiError } from '../api/errors.ts'
import { emptyStoreProfile, type StoreProfile } from '../store/store.ts'
import { renderDocument, type Site } from './document.ts'
import { html } from './html.ts'
import { listPath } from './view.ts'

/** Pages that say why there is nothing to see. */

const notices = {
  404: ['This animal is not here', 'Perhaps the address is not complete, or the animal is no longer listed.'],
  410: ['This animal has found a home', 'It moved out a while ago. Others are still waiting for theirs.'],
  429: ['Please wait a moment', 'There were many requests from your network. Try again in a minute.'],
  503: ['We will be right back', 'The animals cannot be shown at the moment. Try again in a few seconds.'],
  500: ['Something went wrong', 'The animals cannot be shown. Please try again later.'],
} as const
type NoticeStatus = keyof typeof notices

export function renderNotice(status: NoticeStatus, store: StoreProfile, site: Site): string {
  const [title, text] = notices[status]
  return renderDocument({
    title,
    store,
    site,
    main: html`<div class="notice"><h1>${title}</h1>
<p>${text}</p>
<p><a class="button" href="${listPath}">Show all animals</a></p></div>`,
  })
}

/** What a visitor sees if a request fails, without the data of the store. Undefined for errors that keep the JSON response. */
export function renderFailure({ status }: ApiError, site: Site): string | undefined {
  if (status < 429) return undefined
  return renderNotice(status === 429 || status === 503 ? status : 500, emptyStoreProfile, site)
}
