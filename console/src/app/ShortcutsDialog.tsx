import { Button } from '../components/Button.tsx'
import { Dialog } from '../components/Dialog.tsx'
import { CheckField } from '../components/Field.tsx'
import { isShortcutListOpen, shortcutChoice } from './shortcuts.ts'

const shortcuts: readonly (readonly [keys: readonly string[], text: string])[] = [
  [['/'], 'Go to the search, on a screen that has one'],
  [['?'], 'Show this list'],
  [['Ctrl', 'Z'], 'Undo the last change, while it can be undone'],
  [['Esc'], 'Close a dialog or a menu'],
]

const close = () => {
  isShortcutListOpen.value = false
}

export const ShortcutsDialog = () => (
  <Dialog
    title="Keyboard shortcuts"
    onClose={close}
    actions={
      <Button kind="primary" onClick={close} data-autofocus>
        Close
      </Button>
    }
  >
    <dl class="shortcuts">
      {shortcuts.map(([keys, text]) => (
        <div key={text}>
          <dt>
            {keys.map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
    <CheckField
      label="Use / and ? as shortcuts"
      hint="They never work while you type in a field. Turn them off if you press them by mistake."
      isChecked={shortcutChoice.value === 'on'}
      onChecked={(isOn) => {
        shortcutChoice.value = isOn ? 'on' : 'off'
      }}
    />
  </Dialog>
)
