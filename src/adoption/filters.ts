import { ageGroups, companions, sexes, sizes } from '../profiles/profile.ts'
import { ageWords, capitalized, companionWords, sexWords, sizeWords } from './facts.ts'
import { type Html, html } from './html.ts'
import type { Kinds } from './queries.ts'
import { type AdoptionView, addressOf, filtersOf, listPath } from './view.ts'

/** The search and the filters. All of them are links or a form, so they work without JavaScript. */

const searchLengthMax = 200

export function filterForm(view: AdoptionView, kinds: Kinds): Html {
  const { q, species, sex, size, ageGroup, goodWith = [] } = view
  const count = [sex, size, ageGroup, ...goodWith].filter((value) => value !== undefined).length
  return html`<search><form class="search" action="${listPath}">
${species !== undefined && html`<input type="hidden" name="species" value="${species}">`}
<div class="words"><label class="hidden" for="q">Search by name, breed, color or description</label>
<input type="search" id="q" name="q" maxlength="${searchLengthMax}" placeholder="Name, breed, color …" value="${q ?? ''}">
<button class="button">Search</button></div>
<div class="tools">
${kindLinks(view, kinds)}
<details class="filters">
<summary>Filters${count > 0 && html` <span class="number">${count}</span>`}</summary>
<div class="choices">
${select('sex', 'Sex', sexes, sexWords, sex)}
${select('ageGroup', 'Age', ageGroups, ageWords, ageGroup)}
${select('size', 'Size', sizes, sizeWords, size)}
<fieldset><legend>Good with</legend>
${companions.map((name) => html`<label class="check"><input type="checkbox" name="goodWith" value="${name}"${goodWith.includes(name) && html` checked`}> ${companionWords[name]}</label>\n`)}</fieldset>
<button class="button">Show animals</button>
</div>
</details>
</div>
</form></search>`
}

function select<T extends string>(
  name: string,
  label: string,
  values: readonly T[],
  words: Record<T, string>,
  chosen: T | undefined,
): Html {
  const options = values.map(
    (value) => html`<option value="${value}"${value === chosen && html` selected`}>${words[value]}</option>`,
  )
  return html`<label>${label} <select name="${name}"><option value="">Any</option>${options}</select></label>`
}

/** The species to choose from. That of the view is among them. */
function kindLinks(view: AdoptionView, { species }: Kinds): Html | false {
  const { species: chosen, ...others } = filtersOf(view)
  const names = chosen === undefined || species.includes(chosen) ? species : [...species, chosen]
  if (names.length < 2 && chosen === undefined) return false
  const link = (target: AdoptionView, text: string) =>
    html`<li><a href="${addressOf(target)}"${target.species === chosen && html` aria-current="true"`}>${text}</a></li>\n`
  return html`<nav class="kinds" aria-label="Kinds of animals"><ul>
${link(others, 'All')}${names.map((name) => link({ ...others, species: name }, capitalized(name)))}</ul></nav>`
}

/** The filters of the view, each with a link to the view without it. The links to the kinds show the species. */
export function chosenFilters(view: AdoptionView): Html | false {
  const filters = filtersOf(view)
  const { q, sex, size, ageGroup, goodWith = [] } = filters
  const without = (name: keyof AdoptionView): AdoptionView => {
    const { [name]: _, ...others } = filters
    return others
  }
  const chosen: [text: string, without: AdoptionView][] = []
  if (q !== undefined) chosen.push([`“${q}”`, without('q')])
  if (sex) chosen.push([sexWords[sex], without('sex')])
  if (ageGroup) chosen.push([ageWords[ageGroup], without('ageGroup')])
  if (size) chosen.push([sizeWords[size], without('size')])
  for (const name of goodWith)
    chosen.push([`Good with ${name}`, { ...filters, goodWith: goodWith.filter((other) => other !== name) }])
  if (chosen.length === 0) return false
  return html`<ul class="chosen" aria-label="Chosen filters">
${chosen.map(([text, target]) => html`<li><a href="${addressOf(target)}"><span class="hidden">Remove </span><span dir="auto">${text}</span><span class="cross" aria-hidden="true">×</span></a></li>\n`)}${chosen.length > 1 && html`<li><a class="all" href="${listPath}">Remove all</a></li>\n`}</ul>`
}
