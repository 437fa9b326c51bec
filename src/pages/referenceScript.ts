import { keptKeyName, keptKeyUsedAtName, tabKeyName, themeName, unusedMaxMs } from './browserStorage.ts'

/**
 * The script that starts the reference. It runs in the browser, and reads the clock of the device as the console does, see
 * console/src/app/keyStorage.ts. The key is read when a request is sent, so it is never in the document, and no longer
 * used after sign-out. A key that the person has entered in the reference itself is not replaced.
 */
export const referenceScript = (customCss: string) => `const theme = localStorage.getItem('${themeName}')
if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
Scalar.createApiReference('#content', {
  url: '/v1/openapi.json',
  agent: { disabled: true },
  onRequestBuilt({ request }) {
    const unusedMs = Math.abs(Date.now() - Number(localStorage.getItem('${keptKeyUsedAtName}')))
    const keptKey = unusedMs < ${unusedMaxMs} ? localStorage.getItem('${keptKeyName}') : null
    const key = sessionStorage.getItem('${tabKeyName}') ?? keptKey
    const isEntered = /^Bearer \\S/.test(request.headers.get('Authorization') ?? '')
    if (key !== null && !isEntered) request.headers.set('Authorization', 'Bearer ' + key)
  },
  customCss: ${JSON.stringify(customCss)},
  ...((theme === 'light' || theme === 'dark') && { forceDarkModeState: theme }),
  hideClientButton: true,
  hideDarkModeToggle: true,
  mcp: { disabled: true },
  persistAuth: false,
  proxyUrl: '',
  showDeveloperTools: 'never',
  telemetry: false,
  withDefaultFonts: false,
})
// Scalar's copy buttons have no name.
new MutationObserver(() => {
  for (const button of document.querySelectorAll('.scalar-code-copy:not([aria-label])')) button.ariaLabel = 'Copy'
}).observe(document.getElementById('content'), { childList: true, subtree: true })
`
