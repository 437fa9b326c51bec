import './app/validLanguage.ts'
import { render } from 'preact'
import './styles/tokens.css'
import './styles/base.css'
import './styles/controls.css'
import './styles/blocks.css'
import './styles/overlays.css'
import './styles/table.css'
import './styles/navigation.css'
import './styles/shell.css'
import './styles/screens.css'
import './styles/details.css'
import './styles/choices.css'
import './styles/print.css'
import { App } from './app/App.tsx'
import './app/followPrinting.ts'
import { restoreSession } from './app/session.ts'

void restoreSession()
const root = document.getElementById('app')
if (root) render(<App />, root)
