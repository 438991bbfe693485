"""Who holds what in a module, decided once: the functions as a flow of distributed values, and one layout for each of them.

`relations` say what operations tie together and take, `graph` puts a module's functions together, `levels` and
`written_layouts` read what is stated. `edges` asks whether elements have to move along a tie, and `values` chooses the layouts
of all values at once, with `solver`. `checking` reports what remains broken, `lowering` writes what was chosen, `propagation`
chooses with priced conversions.

>>> from layoutalg.core.notation import Machine
>>> from layoutalg.flow.graph import flow_of
>>> from layoutalg.flow.values import solved
>>> from layoutalg.ir import read_module
>>> text = '''func.func @f(%x: vector<16x16xf32>) {
...   %y = math.exp %x {layout_result_0 = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>} : vector<16x16xf32>
...   %z = vector.transpose %y, [1, 0] : vector<16x16xf32> to vector<16x16xf32>
...   func.return }'''
>>> answer = solved(flow_of(*read_module(text).body.block.ops), Machine(lanes=16))
>>> [(one.how, str(one.layout)) for one in answer.of.values()]
[('wanted', 'd0 = 16@reg, d1 = 16@lane'), ('stated', 'd0 = 16@reg, d1 = 16@lane'), ('carried', 'd0 = 16@lane, d1 = 16@reg')]
"""

__all__: list[str] = []
