/**
 * The animals of a store on any web site, without a key:
 *
 *   <script src="https://pets.example/adopt/embed.js" async></script>
 *   <adoptable-animals store="https://pets.example" species="dog"></adoptable-animals>
 *
 * The attributes `species`, `sex`, `size`, `age-group`, `good-with` and `q` are filters, and `limit` is the number of
 * animals at first. `theme` is `light`, `dark` or `auto`; without it, the element has the color scheme of the page.
 */
{
  /** Attributes by the parameters of the store's address. */
  const filters = { species: 'species', sex: 'sex', size: 'size', ageGroup: 'age-group', q: 'q' }
  const ownStore = document.currentScript?.src ? new URL(document.currentScript.src).origin : ''

  const style = new CSSStyleSheet()
  style.replaceSync(`
    :host { display: block; container-type: inline-size; font: 1rem/1.5 system-ui, sans-serif;
      --accent: var(--adoptable-accent, light-dark(#28594b, #9bd3bd));
      --ink: light-dark(#29231d, #f3ede6); --soft: light-dark(#675d53, #b9aea2);
      --card: light-dark(#fff, #221f1c); --line: light-dark(#e6ddd1, #38322d) }
    :host([hidden]) { display: none }
    :host([theme="light"]) { color-scheme: light }
    :host([theme="dark"]) { color-scheme: dark }
    :host([theme="auto"]) { color-scheme: light dark }
    * { box-sizing: border-box }
    ul { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 9.5rem), 1fr)); gap: 1rem;
      margin: 0; padding: 0; list-style: none }
    @container (min-width: 44rem) { ul { grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)) } }
    li { position: relative; display: flex; flex-direction: column; overflow: hidden; border: 1px solid var(--line);
      border-radius: 1rem; background: var(--card); color: var(--ink) }
    li:hover { border-color: var(--accent) }
    li:has(a:focus-visible), button:focus-visible, p a:focus-visible {
      outline: 3px solid var(--accent); outline-offset: 2px }
    .photo { display: grid; place-items: center; aspect-ratio: 1; background: var(--line) }
    img { width: 100%; height: 100%; object-fit: cover; object-position: 50% 30% }
    svg { width: 34%; fill: var(--soft); opacity: .35 }
    .text { padding: .75rem 1rem 1rem }
    h3 { margin: 0; font-size: 1.0625rem; line-height: 1.3; overflow-wrap: anywhere }
    h3 a { color: inherit; text-decoration: none; outline: 0 }
    h3 a::after { position: absolute; inset: 0; content: "" }
    li:hover h3 a { text-decoration: underline }
    .text p { margin: .125rem 0 0; color: var(--soft); font-size: .9375rem; overflow-wrap: anywhere }
    .badge { position: absolute; top: .75rem; left: .75rem; margin: 0; padding: .125rem .75rem; border-radius: 1rem;
      background: light-dark(#fff1d1, #4b3b12); color: light-dark(#573f00, #ffe3a6);
      font-size: .875rem; font-weight: 600 }
    .end { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; align-items: center; margin-top: 1rem }
    .end p { margin: 0 }
    .end p:empty { display: none }
    .end a { color: inherit }
    button { min-height: 2.75rem; padding: .5rem 1.25rem; border: 1px solid currentColor; border-radius: 2rem;
      background: none; color: inherit; font: inherit; font-weight: 600; cursor: pointer }
    button[hidden] { display: none }`)

  /** Texts of the store become text, never HTML: `append` does not parse them. */
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties)
    element.append(...children.filter(Boolean))
    return element
  }

  const paw = () => {
    const draw = (tag, attributes) => {
      const element = document.createElementNS('http://www.w3.org/2000/svg', tag)
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
      return element
    }
    const picture = draw('svg', { viewBox: '0 0 24 24', 'aria-hidden': 'true' })
    const toes = [
      [5, 11],
      [9.4, 6],
      [14.6, 6],
      [19, 11],
    ]
    picture.append(
      ...toes.map(([cx, cy]) => draw('ellipse', { cx, cy, rx: 2.3, ry: 3 })),
      draw('path', {
        d: 'M12 11.5c-3.2 0-6 3.6-6 6.2 0 2 1.6 2.8 3.2 2.8 1.2 0 1.9-.5 2.8-.5s1.6.5 2.8.5c1.6 0 3.2-.8 3.2-2.8 0-2.6-2.8-6.2-6-6.2z',
      }),
    )
    return picture
  }

  class AdoptableAnimals extends HTMLElement {
    static observedAttributes = ['store', ...Object.values(filters), 'good-with', 'limit']
    #list = make('ul', { role: 'list' })
    #status = make('p', { role: 'status' })
    #more = make('button', { type: 'button', textContent: 'Show more', hidden: true })
    #all = make('p')
    #loading = new AbortController()
    #isWaiting = false

    constructor() {
      super()
      const root = this.attachShadow({ mode: 'open' })
      root.adoptedStyleSheets = [style]
      root.append(this.#list, make('div', { className: 'end' }, this.#status, this.#more, this.#all))
    }

    connectedCallback() {
      this.#restart()
    }

    disconnectedCallback() {
      this.#loading.abort()
    }

    attributeChangedCallback() {
      if (this.isConnected) this.#restart()
    }

    get #store() {
      return (this.getAttribute('store') || ownStore).replace(/(?:\/adopt)?\/*$/, '')
    }

    #search(more = {}) {
      const pairs = Object.entries(filters).map(([name, attribute]) => [name, this.getAttribute(attribute)])
      const goodWith = (this.getAttribute('good-with') ?? '')
        .split(/[\s,]+/)
        .map((value) => ['goodWith', value])
      const given = [...pairs, ...goodWith, ...Object.entries(more)].filter(([, value]) => value)
      return new URLSearchParams(given)
    }

    /** Once for several attributes that change together. */
    #restart() {
      if (this.#isWaiting) return
      this.#isWaiting = true
      queueMicrotask(() => {
        this.#isWaiting = false
        if (!this.isConnected) return
        this.#list.replaceChildren()
        this.#all.replaceChildren(
          make('a', { href: `${this.#store}/adopt?${this.#search()}`, textContent: 'See all animals' }),
        )
        const search = this.#search({ limit: this.getAttribute('limit') ?? '12' })
        this.#load(`${this.#store}/adopt/animals.json?${search}`)
      })
    }

    async #load(url) {
      const hadFocus = this.shadowRoot.activeElement === this.#more
      this.#loading.abort()
      this.#loading = new AbortController()
      const { signal } = this.#loading
      this.#status.textContent = 'Loading the animals…'
      this.#more.hidden = true
      try {
        const response = await fetch(url, { signal, credentials: 'omit', referrerPolicy: 'no-referrer' })
        if (!response.ok) throw new Error(`The store responded with ${response.status}.`)
        const page = await response.json()
        if (!signal.aborted) this.#show(page, url, hadFocus)
      } catch (error) {
        if (signal.aborted) return
        console.error(error)
        this.#status.textContent = 'The animals cannot be shown at the moment.'
        this.#offer('Try again', () => this.#load(url))
        if (hadFocus) this.#more.focus()
      }
    }

    #show({ animals, next }, url, hadFocus) {
      const cards = animals.map((animal) => this.#card(animal, url))
      this.#list.append(...cards)
      const count = this.#list.childElementCount
      this.#status.textContent = count === 0 ? 'No animal is looking for a home at the moment.' : ''
      if (next) this.#offer('Show more', () => this.#load(new URL(next, url).href))
      if (hadFocus) cards[0]?.querySelector('a').focus()
    }

    #offer(text, action) {
      this.#more.textContent = text
      this.#more.hidden = false
      this.#more.onclick = action
    }

    /** Addresses are relative to that of the store, if it does not know its own. */
    #card({ pet, headline, photos: [photo], url: page }, base) {
      const address = (path) => new URL(path, base).href
      const link = make('a', { href: address(page), dir: 'auto' }, pet.name)
      const text = make(
        'div',
        { className: 'text' },
        make('h3', {}, link),
        headline && make('p', {}, headline),
      )
      const picture = make('div', { className: 'photo' })
      if (photo) {
        const { urls, width, alt, color } = photo
        picture.style.backgroundColor = color
        const files = [320, 640].map((size) => `${address(urls[size])} ${Math.min(size, width)}w`)
        const sizes = `${Math.round(16 * Math.max(1, photo.width / photo.height))}rem`
        picture.append(make('img', { loading: 'lazy', alt: alt ?? '', sizes, srcset: files.join(', ') }))
      } else picture.append(paw())
      const badge = pet.status === 'pending' && make('p', { className: 'badge', textContent: 'Reserved' })
      return make('li', {}, picture, text, badge)
    }
  }

  customElements.get('adoptable-animals') ?? customElements.define('adoptable-animals', AdoptableAnimals)
}
