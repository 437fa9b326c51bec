/**
 * Adds a button to each block of code that copies it, and says so to screen readers. Without JavaScript, the pages have
 * no buttons. A page that is not served over HTTPS has no clipboard: the text is then selected for the person to copy.
 */
export const copyScript = `const resetAfterMs = 2000
const status = document.createElement('p')
status.className = 'announcement'
status.setAttribute('role', 'status')
document.body.append(status)

for (const block of document.querySelectorAll('.code')) {
  const code = block.querySelector('code')
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Copy'
  let timer
  button.addEventListener('click', async () => {
    clearTimeout(timer)
    status.textContent = ''
    const isCopied = await copy(code.textContent)
    if (!isCopied) getSelection().selectAllChildren(code)
    button.textContent = isCopied ? 'Copied' : 'Selected'
    status.textContent = isCopied ? 'Copied' : 'The code is selected. Copy it with the keyboard or the menu.'
    timer = setTimeout(() => { button.textContent = 'Copy' }, resetAfterMs)
  })
  block.prepend(button)
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}
`
