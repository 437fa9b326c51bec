import { hrefOf } from '../app/router.ts'
import { EmptyState } from './EmptyState.tsx'
import { PageHeader } from './PageHeader.tsx'

type NotFoundProps = {
  title: string
  text: string
  /** Where the person can go on. */
  target: { path: string; name: string }
}

/** Instead of a screen, for an address that shows nothing. */
export const NotFound = ({ title, text, target }: NotFoundProps) => (
  <>
    <PageHeader title={title} />
    <EmptyState
      icon="search"
      title="There is nothing here"
      text={text}
      action={
        <a class="button button-secondary button-normal" href={hrefOf(target.path)}>
          Go to {target.name}
        </a>
      }
    />
  </>
)
