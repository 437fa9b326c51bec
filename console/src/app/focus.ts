/** Moves the focus to the list, or to the screen, if the element that had it is removed by the current change. */
export function keepFocus(): void {
  requestAnimationFrame(() => {
    if (document.activeElement !== document.body) return
    const target = document.querySelector<HTMLElement>('.table-scroll') ?? document.getElementById('content')
    target?.focus()
  })
}
