import type { ComponentChildren } from 'preact'
import type { Item } from '../app/listPages.ts'
import type { PagedList } from '../app/pagedList.ts'
import { PagedView } from './PagedView.tsx'
import { type Column, VirtualTable } from './VirtualTable.tsx'

type PagedTableProps<T extends Item> = {
  list: PagedList<T>
  /** What a row is, such as "key". */
  noun: string
  columns: readonly Column<T>[]
  /** Instead of a table without rows. */
  empty: ComponentChildren
  rowClass?(item: T): string
}

/** The table of a list. */
export const PagedTable = <T extends Item>({ list, noun, empty, ...table }: PagedTableProps<T>) => (
  <PagedView list={list} noun={noun} empty={empty} class="table-card">
    {(items) => <VirtualTable {...table} {...items} />}
  </PagedView>
)
