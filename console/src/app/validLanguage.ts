/** Chromium under LANG=C has the language `en-US@posix`, which is not valid. The library of the charts fails with it. */
try {
  new Intl.NumberFormat(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en' })
}
