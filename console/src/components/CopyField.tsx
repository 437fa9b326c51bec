import { useRef, useState } from 'preact/hooks'
import { Button } from './Button.tsx'

const copiedMs = 2_000

type CopyFieldProps = { label: string; text: string; isMain?: boolean }

/** Text to be copied, with a button that does it. */
export function CopyField({ label, text, isMain }: CopyFieldProps) {
  const code = useRef<HTMLElement>(null)
  const [isCopied, setCopied] = useState(false)
  async function copy() {
    // A page that is not served over HTTPS has no clipboard. Then the text is selected for the person to copy.
    const done = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    )
    if (!done && code.current) getSelection()?.selectAllChildren(code.current)
    setCopied(done === true)
    setTimeout(setCopied, copiedMs, false)
  }
  return (
    <div class="copy">
      <p class="copy-label">{label}</p>
      <div class="copy-box">
        <code ref={code}>{text}</code>
        <Button
          size="small"
          kind={isMain ? 'primary' : 'secondary'}
          icon={isCopied ? 'check' : 'copy'}
          aria-label={`${isCopied ? 'Copied' : 'Copy'}: ${label}`}
          onClick={() => void copy()}
          {...(isMain && { 'data-autofocus': true })}
        >
          {isCopied ? 'Copied' : 'Copy'}
        </Button>
      </div>
    </div>
  )
}
